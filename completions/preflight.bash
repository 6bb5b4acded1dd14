# bash completion for preflight; written by: preflight completions bash
_preflight() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
  local options= operands= values=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W 'check trace node exec fleet verify explain rules files targets completions --help --version' -- "$word") $(compgen -f -- "$word"))
    return
  fi
  case $command in
  check)
    options='-h --help --target --te --nodes --gpus-per-node --gpu --nvlink-domain --node --env --closed-env --strict-env --arg --root --source-path --select --ignore --fail-on --strict --require-launch --no-ignores --baseline --write-baseline --exit-zero --config --isolated --output --show --color -v --verbose -q --quiet --stdin-filename --force-exclude --fix --unsafe-fixes --diff --megatron'
    case $previous in
    --target) values='core_v0.5.0 core_v0.6.0 core_v0.7.0 core_r0.8.0 core_v0.9.0 core_v0.10.0 core_v0.11.0 core_v0.12.0 core_v0.13.1 core_v0.14.0 core_v0.15.3 core_v0.16.1 core_v0.17.1 core_v0.18.2 core_v0.19.0 main all' ;;
    --gpu) values='p100 v100 t4 a100 a100-40gb a800 a30 a10 a40 rtx3090 l4 l40 l40s l20 rtx4090 h20 h100 h800 h200 gh200 b200 gb200 b300 gb300' ;;
    --fail-on) values='error warning note' ;;
    --output) values='text concise json sarif github gitlab junit' ;;
    --show) values='error warning note' ;;
    --color) values='auto always never' ;;
    esac
    ;;
  trace)
    options='-h --help --flag --stdin-filename --target --te --nodes --gpus-per-node --gpu --nvlink-domain --node --env --closed-env --strict-env --arg --root --source-path --config --isolated --output --show --color -v --verbose -q --quiet'
    case $previous in
    --target) values='core_v0.5.0 core_v0.6.0 core_v0.7.0 core_r0.8.0 core_v0.9.0 core_v0.10.0 core_v0.11.0 core_v0.12.0 core_v0.13.1 core_v0.14.0 core_v0.15.3 core_v0.16.1 core_v0.17.1 core_v0.18.2 core_v0.19.0 main all' ;;
    --gpu) values='p100 v100 t4 a100 a100-40gb a800 a30 a10 a40 rtx3090 l4 l40 l40s l20 rtx4090 h20 h100 h800 h200 gh200 b200 gb200 b300 gb300' ;;
    --output) values='text concise json sarif github gitlab junit' ;;
    --show) values='error warning note' ;;
    --color) values='auto always never' ;;
    esac
    ;;
  node)
    options='-h --help --deadline --expect-gpus --record --host --frames --out-dir --target --te --nodes --gpus-per-node --gpu --nvlink-domain --node --env --closed-env --strict-env --arg --root --source-path --select --ignore --fail-on --strict --require-launch --no-ignores --baseline --write-baseline --exit-zero --config --isolated --output --show --color -v --verbose -q --quiet'
    case $previous in
    --target) values='core_v0.5.0 core_v0.6.0 core_v0.7.0 core_r0.8.0 core_v0.9.0 core_v0.10.0 core_v0.11.0 core_v0.12.0 core_v0.13.1 core_v0.14.0 core_v0.15.3 core_v0.16.1 core_v0.17.1 core_v0.18.2 core_v0.19.0 main all' ;;
    --gpu) values='p100 v100 t4 a100 a100-40gb a800 a30 a10 a40 rtx3090 l4 l40 l40s l20 rtx4090 h20 h100 h800 h200 gh200 b200 gb200 b300 gb300' ;;
    --fail-on) values='error warning note' ;;
    --output) values='text concise json sarif github gitlab junit' ;;
    --show) values='error warning note' ;;
    --color) values='auto always never' ;;
    esac
    ;;
  exec)
    options='-h --help --warn-only --deadline --expect-gpus --target --te --nodes --gpus-per-node --gpu --nvlink-domain --node --select --ignore --fail-on --strict --require-launch --no-ignores --baseline --write-baseline --exit-zero --config --isolated --output --show --color -v --verbose -q --quiet'
    case $previous in
    --target) values='core_v0.5.0 core_v0.6.0 core_v0.7.0 core_r0.8.0 core_v0.9.0 core_v0.10.0 core_v0.11.0 core_v0.12.0 core_v0.13.1 core_v0.14.0 core_v0.15.3 core_v0.16.1 core_v0.17.1 core_v0.18.2 core_v0.19.0 main all' ;;
    --gpu) values='p100 v100 t4 a100 a100-40gb a800 a30 a10 a40 rtx3090 l4 l40 l40s l20 rtx4090 h20 h100 h800 h200 gh200 b200 gb200 b300 gb300' ;;
    --fail-on) values='error warning note' ;;
    --output) values='text concise json sarif github gitlab junit' ;;
    --show) values='error warning note' ;;
    --color) values='auto always never' ;;
    esac
    ;;
  fleet)
    options='-h --help --expect --expect-gpus --expect-gpu --expect-driver --nvlink-domain --deadline --output --show --fail-on --color -q --quiet --exit-zero'
    case $previous in
    --output) values='text concise json sarif github gitlab junit' ;;
    --show) values='error warning note' ;;
    --fail-on) values='error warning note' ;;
    --color) values='auto always never' ;;
    esac
    ;;
  verify)
    options='-h --help --tp --pp --dp --world-size --layers --hidden-size --heads --cp --ep --etp --experts --kv-heads --ffn-hidden-size --seq-length --micro-batch-size --global-batch-size --layers-per-virtual-stage --set --gpus-per-node --gpu --target --te --output --config --isolated'
    case $previous in
    --gpu) values='p100 v100 t4 a100 a100-40gb a800 a30 a10 a40 rtx3090 l4 l40 l40s l20 rtx4090 h20 h100 h800 h200 gh200 b200 gb200 b300 gb300' ;;
    --target) values='core_v0.5.0 core_v0.6.0 core_v0.7.0 core_r0.8.0 core_v0.9.0 core_v0.10.0 core_v0.11.0 core_v0.12.0 core_v0.13.1 core_v0.14.0 core_v0.15.3 core_v0.16.1 core_v0.17.1 core_v0.18.2 core_v0.19.0 main all' ;;
    --output) values='text json' ;;
    esac
    ;;
  explain)
    options='-h --help --output --config --isolated'
    case $previous in
    --output) values='text json' ;;
    esac
    ;;
  rules)
    options='-h --help --output --target --folder --config --isolated'
    case $previous in
    --output) values='text json' ;;
    --target) values='core_v0.5.0 core_v0.6.0 core_v0.7.0 core_r0.8.0 core_v0.9.0 core_v0.10.0 core_v0.11.0 core_v0.12.0 core_v0.13.1 core_v0.14.0 core_v0.15.3 core_v0.16.1 core_v0.17.1 core_v0.18.2 core_v0.19.0 main all' ;;
    esac
    ((COMP_CWORD == 2)) && operands='list new test'
    ;;
  files)
    options='-h --help --force-exclude --env --closed-env --strict-env --arg --root --source-path --config --isolated --output'
    case $previous in
    --output) values='text json' ;;
    esac
    ;;
  targets)
    options='-h --help --name --based-on --root --output'
    case $previous in
    --output) values='text json' ;;
    esac
    ((COMP_CWORD == 2)) && operands='list add'
    ;;
  completions)
    options=''
    case $previous in
    esac
    ((COMP_CWORD == 2)) && operands='bash zsh fish'
    ;;
  esac
  if [[ -n $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  else
    COMPREPLY=($(compgen -W "$operands" -- "$word") $(compgen -f -- "$word"))
  fi
}
complete -o filenames -F _preflight preflight
